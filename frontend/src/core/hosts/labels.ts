/** Return [name, value] of `role=feed` or `role:feed`, or undefined for other text. */
export function parseLabel(text: string): [string, string] | undefined {
  const match = /^\s*([A-Za-z][\w.-]{0,62})\s*[=:]\s*(.+?)\s*$/.exec(text);
  return match ? [match[1] as string, match[2] as string] : undefined;
}

export const labelsOf = (texts: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    texts.flatMap((text) => {
      const pair = parseLabel(text);
      return pair ? [pair] : [];
    }),
  );
