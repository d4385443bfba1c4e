/** The Chinese texts that each page loads: common words, shell, widgets, sign-in and the kill switch. */
import type { TextTree } from "../core/text/textTree";

const files = import.meta.glob<TextTree>(
  [
    "./zh.json",
    "../app/i18n/zh.json",
    "../widgets/*/i18n/zh.json",
    "../features/{sign-in,kill-switch}/i18n/zh.json",
  ],
  { eager: true, import: "default" },
);

export const texts: readonly TextTree[] = Object.values(files);
