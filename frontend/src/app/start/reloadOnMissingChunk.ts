const KEY = "culprit.reloaded";
const PAUSE_MS = 60_000;

/**
 * Reload the page when a code chunk fails to load, for example after an upgrade of the server. It reloads at most once
 * a minute; otherwise the page displays the error.
 */
export function reloadOnMissingChunk(reload: () => void = () => location.reload()): void {
  window.addEventListener("vite:preloadError", (event) => {
    const reloadedAt = Number(sessionStorage.getItem(KEY)) || 0;
    if (Date.now() - reloadedAt < PAUSE_MS) return;
    event.preventDefault();
    sessionStorage.setItem(KEY, String(Date.now()));
    reload();
  });
}
