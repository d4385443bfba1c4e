import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "../lib/api";

/** What was read from the server, for all screens of this tab. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (count, error) =>
        !(error instanceof ApiError && (error.status < 500 || error.overloaded)) && count < 2,
      refetchOnWindowFocus: false,
    },
  },
});
