// Sets the color scheme before the first paint, so that a dark screen never flashes white. Browsers keep files of this folder:
// rename the file with each change, here and in index.html.
(() => {
  const stored = localStorage.getItem("culprit.scheme");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const scheme = stored === "dark" || stored === "light" ? stored : dark ? "dark" : "light";
  document.documentElement.setAttribute("data-mantine-color-scheme", scheme);
})();
