// What is shipped: a tarball that is whole, a language that Chromium 103 speaks (OBS, E11), nothing from outside.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";

import { parse } from "acorn";
import { full } from "acorn-walk";

const SHARED = ["../rankcast.js", "../board/theme.js"]; // by pages that lie in folders of their own
const STATIC = fileURLToPath(new URL("../../static", import.meta.url));

// Methods that came after Chromium 103 or are not in ES2022; a page may not count on them.
const TOO_NEW = new Set(
  (
    "toSorted toReversed toSpliced with groupBy withResolvers fromAsync isWellFormed toWellFormed canParse " +
    "difference symmetricDifference isSubsetOf isSupersetOf isDisjointFrom startViewTransition getOrInsert"
  ).split(" "),
);

// With these in it a rule is dropped whole there, and not only what they say.
const TOO_NEW_STYLE = /:has\(|color-mix\(|light-dark\(|oklch\(|@container|@scope|^\s*&/m;

function files(folder, ending) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return files(path, ending);
    return entry.name.endsWith(ending) ? [path] : [];
  });
}

const scripts = (folder) => files(folder, ".js");

/** What is imported and what is called by name in a script. */
function uses(path) {
  const found = { imports: [], methods: new Set() };
  full(parse(readFileSync(path, "utf8"), { ecmaVersion: 2022, sourceType: "module" }), (node) => {
    if (node.source && /^(Import|Export)/.test(node.type)) found.imports.push(node.source.value);
    if (node.type === "MemberExpression" && !node.computed) found.methods.add(node.property.name);
  });
  return found;
}

for (const path of scripts(STATIC)) {
  const name = relative(STATIC, path);
  test(`E11: ${name} is written in what OBS's Chromium understands`, () => {
    const { methods } = uses(path);
    assert.deepEqual(
      [...methods].filter((method) => TOO_NEW.has(method)),
      [],
    );
  });
  test(`${name} imports scripts beside it, and a page's the client and the switch of colours`, () => {
    const ours = (source) =>
      source.startsWith("./") || (dirname(name) !== "rankcast" && SHARED.includes(source));
    assert.deepEqual(
      uses(path).imports.filter((source) => !ours(source)),
      [],
    );
  });
}

for (const path of files(STATIC, ".css")) {
  test(`E11: ${relative(STATIC, path)} is written in what OBS's Chromium understands`, () => {
    const rules = readFileSync(path, "utf8").replace(/\/\*.*?\*\//gs, "");
    assert.equal(TOO_NEW_STYLE.exec(rules), null);
  });
}

let folder;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "rankcast-pack-"));
});
after(() => rmSync(folder, { recursive: true }));

test("npm pack makes a tarball that holds the client and its types, and nothing of the pages", async () => {
  const told = execFileSync(
    "npm",
    ["pack", "--json", "--pack-destination", folder, "--cache", join(folder, "cache")],
    { cwd: STATIC, encoding: "utf8" },
  );
  const [{ filename, files, name }] = JSON.parse(told);
  const paths = files.map(({ path }) => path);
  const modules = scripts(join(STATIC, "rankcast")).map((path) => relative(STATIC, path));
  const wanted = ["package.json", "rankcast.d.ts", "rankcast.js", "rankcast/types.d.ts", ...modules];
  assert.equal(name, "rankcast");
  assert.deepEqual(paths.filter((path) => path !== "README.md").sort(), wanted.sort());
  execFileSync("tar", ["-xzf", join(folder, filename), "-C", folder]);
  const { connect } = await import(join(folder, "package", "rankcast.js"));
  assert.equal(connect("ws://127.0.0.1:9").state.name, "connecting");
});
