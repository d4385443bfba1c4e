import type { Bilingual } from "../client/types";
import { usePick } from "../lib/i18n";
import classes from "./Prose.module.css";

/** A text of a playbook in the reader's language; what stands between backticks is typed or found as it is written. */
export function Prose({ text }: { text: Bilingual | null | undefined }) {
  const parts = usePick()(text).split("`");
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
