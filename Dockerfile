# Rankcast for production: the roles, without the embedded services. `docker build -t rankcast .`
FROM python:3.13-slim AS packages
COPY locks/production.txt /tmp/production.txt
RUN python -m venv /opt/rankcast \
    && /opt/rankcast/bin/pip install --no-cache-dir --disable-pip-version-check \
        --only-binary=:all: --require-hashes -r /tmp/production.txt

FROM python:3.13-slim
COPY --from=packages /opt/rankcast /opt/rankcast
COPY server /app/server
COPY static /app/static
RUN useradd --system --uid 10001 --home-dir /app --shell /usr/sbin/nologin rankcast \
    && printf '#!/bin/sh\nexec python -m server "$@"\n' > /usr/local/bin/rankcast \
    && chmod 755 /usr/local/bin/rankcast \
    && /opt/rankcast/bin/python -m compileall -q /app/server
ENV PATH=/opt/rankcast/bin:$PATH \
    PYTHONPATH=/app \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    RANKCAST_HOST=0.0.0.0 \
    RANKCAST_PORT=8000 \
    RANKCAST_DEMO=false \
    RANKCAST_LOG_JSON=true
WORKDIR /app
USER rankcast
EXPOSE 8000
# Alive, not ready: a process whose Redis is away is no better off when it is started again.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["python", "-c", \
    "import os, urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{os.environ[\"RANKCAST_PORT\"]}/healthz', timeout=4)"]
ENTRYPOINT ["python", "-m", "server"]
CMD ["serve"]
