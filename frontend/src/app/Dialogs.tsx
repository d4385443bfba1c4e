import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { Search } from "../core/search";
import { DIALOG_KEYS } from "../lib/dialogs";
import { useProofRequest } from "../lib/proof";
import { loadTextsOf } from "../lib/text/catalog";
import { MANIFESTS_BY_FOLDER } from "./features";

const DIALOGS = Object.fromEntries(
  MANIFESTS_BY_FOLDER.flatMap(([folder, { dialogs }]) =>
    Object.entries(dialogs ?? {}).map(([name, load]) => [
      name,
      lazy(async () => {
        const [component] = await Promise.all([load(), loadTextsOf(folder)]);
        return { default: component };
      }),
    ]),
  ),
);

const Proof = lazy(() =>
  import("../features/sign-in/ReauthenticationDialog").then((m) => ({ default: m.ReauthenticationDialog })),
);

/** Render the dialog in the query parameter `dialog`. Any page can open it, and Back closes it. */
export function Dialogs() {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const proof = useProofRequest();
  const Dialog = DIALOGS[String(search.dialog)];
  const close = () =>
    void navigate({
      to: ".",
      search: (before: Search) => {
        const next = { ...before };
        for (const key of DIALOG_KEYS) delete next[key];
        return next;
      },
      resetScroll: false,
    });
  return (
    <Suspense>
      {proof !== null && <Proof />}
      {Dialog && <Dialog onClose={close} />}
    </Suspense>
  );
}
