import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  type AnyRouter,
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { render } from "@testing-library/react";
import type { ReactNode } from "react";
import { createAppRouter } from "../app/router";
import { theme } from "../app/theme";
import { useMe } from "../lib/queries";

/** Render the application at a path and return its router. */
export function openScreen(path: string) {
  const queries = createQueries();
  const router = createAppRouter(queries, createMemoryHistory({ initialEntries: [path] }));
  renderAt(router, queries);
  return router;
}

/** Render a part of a page for a signed-in user, because rendering a full page takes seconds. */
export function renderPart(part: ReactNode): void {
  const routeTree = createRootRoute({ component: () => (useMe().data ? part : null) });
  renderAt(createRouter({ routeTree, history: createMemoryHistory() }), createQueries());
}

const createQueries = () => new QueryClient({ defaultOptions: { queries: { retry: false } } });

function renderAt(router: AnyRouter, queries: QueryClient): void {
  render(
    <MantineProvider theme={theme} defaultColorScheme="dark" env="test">
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}
