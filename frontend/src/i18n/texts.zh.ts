/** Every Chinese text of the interface: the common words, then those of the shell, the features and the widgets. */
const files = import.meta.glob<object>(
  ["./zh.json", "../app/i18n/zh.json", "../{features,widgets}/*/i18n/zh.json"],
  {
    eager: true,
    import: "default",
  },
);

export const texts: readonly object[] = Object.values(files);
