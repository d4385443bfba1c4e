/** Texts by key, nested at the dots of their keys. */
export interface TextTree {
  readonly [key: string]: string | TextTree;
}
