/** Every English text of the interface: the common words, then those of the shell, the features and the widgets. */
const files = import.meta.glob<object>(
  ["./en.json", "../app/i18n/en.json", "../{features,widgets}/*/i18n/en.json"],
  {
    eager: true,
    import: "default",
  },
);

export const texts: readonly object[] = Object.values(files);
