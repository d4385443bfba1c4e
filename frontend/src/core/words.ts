/** A message for people as the server sends it: a key into the sentence catalogue, and its parameters. */
export interface Sentence {
  key: string;
  params: Record<string, string | number>;
}
