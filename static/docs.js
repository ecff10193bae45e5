/** The API's page: draws /openapi.json. Text only ever goes in as text. */

function make(tag, { text, className, id, href } = {}, ...children) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  if (id) node.id = id;
  if (href) node.href = href;
  node.append(...children.filter(Boolean));
  return node;
}

/** Text with `code` in back quotes, as nodes. */
function prose(text) {
  return text.split("`").map((part, at) => (at % 2 ? make("code", { text: part }) : document.createTextNode(part)));
}

function definitions(pairs) {
  const items = pairs.flatMap(([term, meaning]) => [
    make("dt", {}, make("code", { text: term })),
    make("dd", {}, ...prose(meaning)),
  ]);
  return items.length ? make("dl", {}, ...items) : null;
}

const pretty = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

function example(title, content) {
  const [media] = Object.values(content ?? {});
  if (media?.example === undefined) return [];
  return [make("div", { text: title }), make("pre", { text: pretty(media.example) })];
}

function call(path, method, operation) {
  const verb = make("span", { className: "verb", text: `${method.toUpperCase()} ` });
  const responses = Object.entries(operation.responses);
  const good = responses.find(([status]) => status.startsWith("2"));
  return make(
    "article",
    { className: "call", id: operation.operationId },
    make("h3", {}, verb, make("code", { text: path })),
    make("div", { text: operation.summary }),
    operation.description && make("p", {}, ...prose(operation.description)),
    operation.security && make("p", { text: "Needs the API key: Authorization: Bearer <key>" }),
    definitions((operation.parameters ?? []).map((p) => [p.name, `${p.description} (${p.in})`])),
    ...example("Body", operation.requestBody?.content),
    ...example(`Answer ${good?.[0] ?? ""}`, good?.[1].content),
    definitions(responses.map(([status, answer]) => [status, answer.description])),
  );
}

/** Every code word, so that the `type` of a refusal leads to its explanation. */
function problems(words) {
  const items = Object.entries(words).flatMap(([code, { status, title, retry }]) => [
    make("dt", { id: code }, make("code", { text: code })),
    make("dd", { text: `${status}: ${title}${retry ? "; trying again helps" : ""}` }),
  ]);
  return make("section", {}, make("h2", { text: "Refusals" }), make("dl", {}, ...items));
}

async function draw() {
  const answer = await fetch("/openapi.json");
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
  const api = await answer.json();
  document.getElementById("about").replaceChildren(...prose(api.info.description));
  const sections = new Map();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const [tag] = operation.tags;
      if (!sections.has(tag)) sections.set(tag, make("section", {}, make("h2", { text: tag })));
      sections.get(tag).append(call(path, method, operation));
    }
  }
  document.getElementById("calls").replaceChildren(...sections.values(), problems(api.components["x-problems"]));
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

draw().catch((error) => {
  document.getElementById("calls").textContent = `The description cannot be shown: ${error.message}`;
});
