import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./theme.css";
import "./global.css";
import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { meQuery } from "../lib/queries";
import { startI18n } from "../lib/text/i18n";
import { queryClient } from "./queryClient";
import { reloadOnMissingPart } from "./reloadOnMissingPart";
import { router } from "./router";
import { theme } from "./theme";

const scheme = localStorageColorSchemeManager({ key: "culprit.scheme" });

reloadOnMissingPart();
// Load the page, the signed-in user and the texts concurrently.
void queryClient.prefetchQuery(meQuery);
void router.load();
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
        <QueryClientProvider client={queryClient}>
          <Notifications position="bottom-right" autoClose={5000} limit={3} />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
