// Sets the color scheme before the first paint, so that a dark screen never flashes white.
(() => {
  const stored = localStorage.getItem("culprit.scheme");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const scheme = stored === "dark" || stored === "light" ? stored : dark ? "dark" : "light";
  document.documentElement.setAttribute("data-mantine-color-scheme", scheme);
})();
