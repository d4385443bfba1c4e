/** Message of the server: a key of the message catalog, and its parameters. */
export interface Message {
  key: string;
  params: Record<string, string | number>;
}

/** Message with optional parameters. */
export type MessageLike = Pick<Message, "key"> & Partial<Message>;
