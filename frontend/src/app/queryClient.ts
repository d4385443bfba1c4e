import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "../lib/api";

/** Query cache of the application. */
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
