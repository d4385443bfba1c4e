/** A message of the server: a key into the message catalog, and its parameters. */
export interface Message {
  key: string;
  params: Record<string, string | number>;
}

/** A message whose parameters may be absent because it has none. */
export type MessageLike = Pick<Message, "key"> & Partial<Message>;
