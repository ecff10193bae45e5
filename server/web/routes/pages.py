"""The pages and the files that they load: the live board, the overlay, the API's page."""

from collections.abc import Mapping

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from server.core.refusals import shown
from server.errors import KINDS, RankcastError
from server.web import conditional
from server.web.assets import Asset
from server.web.operation import Handler
from server.web.security import EMBEDDABLE_POLICY, PAGE_POLICY
from server.web.state import Request

PAGES = {
    "/": "index.html",
    "/overlay": "overlay.html",
    "/overlay/setup": "overlay-setup.html",
    "/docs": "docs.html",
}


def routes(assets: Mapping[str, Asset]) -> list[BaseRoute]:
    """Routes of the pages, of `/static/…`, and of `/problems/…`, where the `type` of a refusal leads to."""
    pages = [Route(path, _page(assets[name], path)) for path, name in PAGES.items()]
    return [*pages, Route("/static/{name:path}", _file(assets)), Route("/problems/{code}", _problem)]


def _page(asset: Asset, path: str) -> Handler:
    policy = EMBEDDABLE_POLICY if path == "/overlay" else PAGE_POLICY

    async def page(request: Request) -> Response:
        response = conditional.answer(request, asset.body, asset.tag, asset.media_type)
        response.headers["content-security-policy"] = policy
        return response

    return page


def _file(assets: Mapping[str, Asset]) -> Handler:
    async def file(request: Request) -> Response:
        asset = assets.get(request.path_params["name"])
        if asset is None:
            raise RankcastError("not_found", f"There is no file {shown(request.path_params['name'])} here")
        return conditional.answer(request, asset.body, asset.tag, asset.media_type)

    return file


async def _problem(request: Request) -> Response:
    code = request.path_params["code"]
    if code not in KINDS:
        raise RankcastError("not_found", f"No refusal has the code word {shown(code)}")
    return RedirectResponse(f"/docs#{code}", 303)
