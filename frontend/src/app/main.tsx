import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./theme.css";
import "./global.css";
import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "../lib/api";
import { startI18n } from "../lib/text/i18n";
import { reloadOnMissingPart } from "./reloadOnMissingPart";
import { router } from "./router";
import { theme } from "./theme";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (count, error) =>
        !(error instanceof ApiError && (error.status < 500 || error.overloaded)) && count < 2,
      refetchOnWindowFocus: false,
    },
  },
});
const scheme = localStorageColorSchemeManager({ key: "culprit.scheme" });

reloadOnMissingPart();
await startI18n();
const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        withCssVariables={false}
        withGlobalClasses={false}
        colorSchemeManager={scheme}
        defaultColorScheme="auto"
      >
        <QueryClientProvider client={queries}>
          <Notifications position="bottom-right" autoClose={5000} limit={3} />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
