import type { paths } from "./schema";

type Filled<Path extends string> = Path extends `${infer Head}{${string}}${infer Tail}`
  ? `${Head}${string}${Filled<Tail>}`
  : Path;

type With<Method extends string> = {
  [Path in keyof paths]: paths[Path] extends { [M in Method]: object } ? Path : never;
}[keyof paths];

/** Addresses below `/api/v1` that answer to a method, with any text in the place of their parameters. */
export type ApiPath<Method extends string> =
  With<Method> extends infer Path ? (Path extends `/api/v1${infer Rest}` ? Filled<Rest> : never) : never;
