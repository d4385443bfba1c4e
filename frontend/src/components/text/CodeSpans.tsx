import classes from "./CodeSpans.module.css";

/** Render a text in which text between backticks is code. A backtick without a partner stays. */
export function CodeSpans({ text }: { text: string }) {
  const parts = text.split("`");
  const isOdd = parts.length % 2 === 0;
  return parts.map((part, i) => {
    const isLast = i === parts.length - 1;
    if (i % 2 === 1 && !isLast)
      return (
        <code key={i} className={classes.code}>
          {part}
        </code>
      );
    return isLast && isOdd ? `\`${part}` : part;
  });
}
