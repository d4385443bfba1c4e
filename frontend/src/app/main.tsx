import "@mantine/core/styles.css";
import "./theme.css";
import "./global.css";
import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { startI18n } from "../lib/text/i18n";
import { removeEarlyFlame } from "../widgets/flame-graph/earlyFlame";
import { queryClient } from "./queryClient";
import { router } from "./router";
import { theme } from "./theme";

const scheme = localStorageColorSchemeManager({ key: "culprit.scheme" });

router.subscribe("onBeforeNavigate", ({ fromLocation, pathChanged }) => {
  if (fromLocation && pathChanged) removeEarlyFlame();
});
// Load the texts and the page with its data concurrently. The texts are first, because they determine the language.
const texts = startI18n();
void router.load();
await texts;
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
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
