/** The API's page: draws /openapi.json, and what puts a board into a page. Text only ever goes in as text. */

import { themeSwitch } from "./board/theme.js";

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
  const text = make("pre", {}, make("code", { text: pretty(media.example) }));
  text.tabIndex = 0; // what is too wide is scrolled by keys as well
  return [make("div", { className: "part", text: title }), text];
}

function call(path, method, operation) {
  const verb = make("span", { className: "verb", text: method.toUpperCase() });
  verb.dataset.method = method;
  const responses = Object.entries(operation.responses);
  const good = responses.find(([status]) => status.startsWith("2"));
  return make(
    "article",
    { className: "call", id: operation.operationId },
    make("h3", {}, verb, make("code", { text: path })),
    make("div", { text: `${operation.summary}.` }),
    operation.description && make("p", {}, ...prose(operation.description)),
    operation.security && make("p", {}, ...prose("Needs the API key: `Authorization: Bearer <key>`.")),
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
  return make("section", { id: "problems" }, make("h2", { text: "Refusals" }), make("dl", {}, ...items));
}

/** A section's title and its calls, for the list beside them. */
function contents(tag, articles) {
  const links = articles.map(({ id, children: [, summary] }) =>
    make("a", { href: `#${id}`, text: summary.textContent.replace(/\.$/, "") }),
  );
  return make("div", {}, make("a", { className: "tag", href: `#of-${tag}`, text: tag }), ...links);
}

const SNIPPET = `<!doctype html>
<meta charset="utf-8">
<ol id="board"></ol>
<script type="module">
  import { connect } from "ORIGIN/static/rankcast.js";

  const list = document.getElementById("board");
  connect("ORIGIN").board("BOARD").top({ limit: 10 }, (view) => {
    list.replaceChildren(...view.rows.map((row) => {
      const item = document.createElement("li");
      item.textContent = \`\${row.name ?? row.player}: \${row.points}\`;
      return item;
    }));
  });
</script>
`;

/** The page of one's own, with this server's address and its first board in it. */
async function offerSnippet() {
  const [snippet, copied] = ["snippet", "copied"].map((id) => document.getElementById(id));
  const show = (board) =>
    (snippet.textContent = SNIPPET.replaceAll("ORIGIN", location.origin).replace("BOARD", board));
  document.getElementById("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(snippet.textContent);
      copied.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(snippet); // without a secure origin there is no clipboard to write to
      copied.textContent = "Press Ctrl-C to copy.";
    }
  });
  show("s12");
  const { seasons } = await (await fetch("/seasons")).json();
  if (seasons.length) show(seasons[0].board);
}

async function draw() {
  const answer = await fetch("/openapi.json");
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
  const api = await answer.json();
  document.getElementById("about").replaceChildren(...prose(api.info.description));
  const sections = new Map();
  const list = document.getElementById("contents");
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const [tag] = operation.tags;
      if (!sections.has(tag)) sections.set(tag, make("section", { id: `of-${tag}` }, make("h2", { text: tag })));
      sections.get(tag).append(call(path, method, operation));
    }
  }
  for (const [tag, section] of sections) list.append(contents(tag, [...section.querySelectorAll("article")]));
  list.append(make("a", { className: "tag", href: "#problems", text: "Refusals" }));
  document.getElementById("calls").replaceChildren(...sections.values(), problems(api.components["x-problems"]));
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

themeSwitch(document.getElementById("theme"));
offerSnippet().catch(() => {}); // the server has no seasons to tell of yet: any board's name does
draw().catch((error) => {
  document.getElementById("calls").textContent = `The description cannot be shown: ${error.message}`;
});
