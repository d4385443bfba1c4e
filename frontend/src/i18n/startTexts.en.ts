/** The English texts that each page loads: common words, shell, widgets, sign-in and the kill switch. */
import type { TextTree } from "../core/text/textTree";

const files = import.meta.glob<TextTree>(
  [
    "./en.json",
    "../app/i18n/en.json",
    "../widgets/*/i18n/en.json",
    "../features/{sign-in,kill-switch}/i18n/en.json",
  ],
  { eager: true, import: "default" },
);

export const texts: readonly TextTree[] = Object.values(files);
