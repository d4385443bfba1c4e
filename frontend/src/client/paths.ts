import type { paths } from "./schema";

type FilledPath<Path extends string> = Path extends `${infer Head}{${string}}${infer Tail}`
  ? `${Head}${string}${FilledPath<Tail>}`
  : Path;

export type Method = "get" | "post" | "put" | "patch" | "delete";

type With<M extends Method> = {
  [Path in keyof paths]: paths[Path] extends { [Key in M]: object } ? Path : never;
}[keyof paths];

/** Addresses below `/api/v1` that answer to a method, with any text in the place of their parameters. */
export type ApiPath<M extends Method> =
  With<M> extends infer Path ? (Path extends `/api/v1${infer Rest}` ? FilledPath<Rest> : never) : never;

/** What follows the address of one resource, such as `/incidents/{incident_id}`, in the addresses below it. */
export type SubPath<M extends Method, Base extends string> =
  With<M> extends infer Path
    ? Path extends `/api/v1${Base}${infer Rest}`
      ? FilledPath<Rest>
      : never
    : never;

/** The operation of the OpenAPI document at an address: of the template that is equal to it, parameters filled. */
type Operation<M extends Method, Path extends string> = {
  [Template in With<M>]: FilledPath<Template> extends `/api/v1${Path}`
    ? `/api/v1${Path}` extends FilledPath<Template>
      ? paths[Template][M & keyof paths[Template]]
      : never
    : never;
}[With<M>];

type Json<Part> = Part extends { content: { "application/json": infer Body } } ? Body : undefined;

/** The JSON body that an operation takes; FormData where it takes a form, and undefined where it takes none. */
export type RequestBody<M extends Method, Path extends string> =
  Operation<M, Path> extends { requestBody?: infer Body } ? Sent<BodyOf<NonNullable<Body>>> : undefined;

type BodyOf<Body> = [Body] extends [never]
  ? undefined
  : Body extends { content: { "multipart/form-data": object } }
    ? FormData
    : Json<Body>;

/** A body that is only read. */
type Sent<Body> = Body extends FormData
  ? Body
  : Body extends object
    ? { readonly [Key in keyof Body]: Sent<Body[Key]> }
    : Body;

/** The JSON body that an operation answers with. */
export type ResponseBody<M extends Method, Path extends string> =
  Operation<M, Path> extends { responses: infer Answers }
    ? Json<Answers[keyof Answers & (200 | 201 | 202)]>
    : never;

/** An item of the list that is read at an address. */
export type ItemOf<Path extends string> =
  ResponseBody<"get", Path> extends { items: (infer Item)[] } ? Item : never;

/** The query parameters of an operation. */
export type Query<M extends Method, Path extends string> =
  Operation<M, Path> extends { parameters: { query?: infer Parameters } } ? NonNullable<Parameters> : never;
