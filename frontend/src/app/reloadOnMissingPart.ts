const KEY = "culprit.reloaded";
const PAUSE_MS = 60_000;

/**
 * Reload the page where a part of it cannot be loaded: another release is installed now, or the network changed. At
 * most once a minute; after that the screen shows the error.
 */
export function reloadOnMissingPart(reload: () => void = () => location.reload()): void {
  window.addEventListener("vite:preloadError", (event) => {
    const reloadedAt = Number(sessionStorage.getItem(KEY)) || 0;
    if (Date.now() - reloadedAt < PAUSE_MS) return;
    event.preventDefault();
    sessionStorage.setItem(KEY, String(Date.now()));
    reload();
  });
}
