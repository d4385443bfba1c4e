import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  type RouterHistory,
  redirect,
} from "@tanstack/react-router";
import { formatSearch, parseSearch, type Search } from "../core/search";
import type { PageRoute } from "../lib/manifest";
import { loadTextsOf } from "../lib/text/catalog";
import { NotFoundPage, PageError } from "./ErrorScreens";
import { type FEATURES, MANIFESTS_BY_FOLDER } from "./features";
import { queryClient } from "./queryClient";
import { Shell } from "./Shell";
import { prepareShell } from "./start/prepareShell";

const keep = (search: Record<string, unknown>): Search => search as Search;

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFoundPage,
  errorComponent: PageError,
});

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: keep,
  component: lazyRouteComponent(() => import("../features/sign-in/SignInPage"), "SignInPage"),
});

/** Redirect a first-login link with the token in the path: move the token to the fragment, which is not logged. */
const loginLink = createRoute({
  getParentRoute: () => root,
  path: "/link/$token",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/login", hash: `link=${params.token}`, replace: true });
  },
});

const reauthenticated = createRoute({
  getParentRoute: () => root,
  path: "/proved",
  component: lazyRouteComponent(
    () => import("../features/sign-in/ReauthenticatedPage"),
    "ReauthenticatedPage",
  ),
});

const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  component: Shell,
  validateSearch: keep,
  loader: ({ context }) => prepareShell(context.queries),
});

const page = <const Path extends string>(path: Path, { load, prepare }: PageRoute, folder: string) =>
  createRoute({
    getParentRoute: () => shell,
    path,
    validateSearch: keep,
    // Prefetches data while the code of the page loads. A hovered link preloads only the code.
    loader: ({ context, params, location, cause }) => {
      if (cause !== "preload") prepare?.(context.queries, params, location.search as Search);
    },
    component: lazyRouteComponent(async () => {
      const [component] = await Promise.all([load(), loadTextsOf(folder)]);
      return { default: component };
    }),
  });

type Intersection<U> = (U extends unknown ? (part: U) => void : never) extends (whole: infer I) => void
  ? I
  : never;
type Feature = (typeof FEATURES)[keyof typeof FEATURES];
type Path = keyof Intersection<Feature["routes"]> & string;
type Pages = { [P in Path]: ReturnType<typeof page<P>> };

/** Pages of all features by path. The cast restores the literal path types, which `Object.fromEntries` loses. */
const pages = Object.fromEntries(
  MANIFESTS_BY_FOLDER.flatMap(([folder, { routes }]) =>
    Object.entries(routes).map(([path, route]) => [path, page(path, route, folder)]),
  ),
) as unknown as Pages;

/** Unknown path: NotFoundPage inside of the shell. */
const notFound = createRoute({ getParentRoute: () => shell, path: "$", component: NotFoundPage });

const routeTree = root.addChildren([
  login,
  loginLink,
  reauthenticated,
  shell.addChildren({ ...pages, notFound }),
]);

/** Create the router. Tests pass an in-memory history. */
export const createAppRouter = (queries: QueryClient, history?: RouterHistory) =>
  createRouter({
    routeTree,
    context: { queries },
    ...(history ? { history } : {}),
    parseSearch,
    stringifySearch: formatSearch,
    defaultPreload: "intent",
    defaultPreloadStaleTime: 0,
    scrollRestoration: true,
    defaultErrorComponent: PageError,
    defaultNotFoundComponent: NotFoundPage,
  });

export const router = createAppRouter(queryClient);

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
