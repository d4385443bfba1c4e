/** First script of each page: it sends the first requests, draws a profile that is opened, then loads the application. */
import { openProfileEarly } from "../features/profiles/opening/earlyProfile";
import { requestEarly } from "../lib/requests/earlyAnswers";
import { reloadOnMissingChunk } from "./start/reloadOnMissingChunk";

/** The application starts after this time even if a profile is not drawn, for example because the tab is hidden. */
const LONGEST_WAIT_MS = 250;

/** The application imports modules of the chunk of this script, so this script must end before: no top-level await. */
async function startPage(): Promise<void> {
  reloadOnMissingChunk();
  const drawing = openProfileEarly(location);
  if (drawing) {
    await Promise.race([drawing, new Promise((resolve) => setTimeout(resolve, LONGEST_WAIT_MS))]);
    void import("../features/profiles/ProfilePage");
  }
  void requestEarly("/me");
  await import("./main");
}

void startPage();
