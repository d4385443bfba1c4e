// Layers of the frontend: app > features > widgets > components > lib > client | i18n > core.
// A feature imports no other feature, and no module is part of an import circle, type-only imports included.
const LAYERS = [["core"], ["client", "i18n"], ["lib"], ["components"], ["widgets"], ["features"], ["app"]];
const TESTS = "\\.test\\.tsx?$";

const path = (names) => `^src/(${names.join("|")})/`;
const layerRules = LAYERS.slice(0, -1).map((names, at) => ({
  name: `${names.join("-")}-imports-lower-layers`,
  severity: "error",
  from: { path: path(names), pathNot: TESTS },
  to: { path: path(LAYERS.slice(at + 1).flat()), pathNot: "/i18n/(en|zh)\\.json$" },
}));

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    ...layerRules,
    {
      name: "features-are-independent",
      severity: "error",
      from: { path: "^src/features/([^/]+)/" },
      to: { path: "^src/features/", pathNot: "^src/features/$1/" },
    },
    {
      name: "no-circles",
      severity: "error",
      from: { path: "^src/" },
      to: { circular: true },
    },
    {
      name: "only-tests-import-testing",
      severity: "error",
      from: { path: "^src/", pathNot: `${TESTS}|^src/testing/|^src/test-setup\\.ts$` },
      to: { path: "^src/testing/" },
    },
    {
      name: "only-tests-import-the-mock-api",
      severity: "error",
      from: { path: "^src/", pathNot: `${TESTS}|^src/testing/|^src/test-setup\\.ts$` },
      to: { path: "^mock/" },
    },
    {
      name: "one-module-imports-d3-flame-graph",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/widgets/flame-graph/d3\\.ts$|\\.d\\.ts$" },
      to: { path: "node_modules/d3-flame-graph/" },
    },
    {
      name: "every-folder-has-a-layer",
      severity: "error",
      from: { path: "^src/", pathNot: `^src/(testing|${LAYERS.flat().join("|")})/|^src/[^/]+$` },
      to: {},
    },
    {
      name: "no-catch-all-names",
      severity: "error",
      from: { path: "(^|/)(utils?|helpers?|common|manager|base)(\\.|/|$)" },
      to: {},
    },
    {
      name: "imports-exist",
      severity: "error",
      from: { path: "^src/" },
      to: { couldNotResolve: true, pathNot: "\\?" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    parser: "swc",
    enhancedResolveOptions: { extensions: [".ts", ".tsx", ".d.ts", ".mjs", ".js", ".json"] },
  },
};
