import type { LocalizedText } from "../../client/models";
import { useLocalized } from "../../lib/text/i18n";
import classes from "./PlaybookText.module.css";

/** Render a text of a playbook in the user's language. Text between backticks is code. */
export function PlaybookText({ text }: { text: LocalizedText | null | undefined }) {
  const parts = useLocalized()(text).split("`");
  return parts.map((part, i) =>
    i % 2 === 1 && i < parts.length - 1 ? (
      <code key={i} className={classes.code}>
        {part}
      </code>
    ) : (
      part
    ),
  );
}
