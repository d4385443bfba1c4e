import { Skeleton } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "../lib/text/useTranslation";
import { ErrorState } from "./EmptyState";
import { Page, Panel } from "./Page";

interface LoadingPageProps {
  /** Type of the resource, until its name is known. */
  title: string;
  /** Link to the list of the resource, so that a page that fails leads further. */
  above?: ReactNode;
  query: { error: unknown; refetch: () => unknown };
  /** Width of the place of the buttons, px. */
  actionsWidth?: number;
  /** Skeletons with the sizes of the content. */
  children: ReactNode;
}

/** Render the page of a resource while it loads, or the reason why it cannot be loaded. */
export function LoadingPage({ title, above, query, actionsWidth = 0, children }: LoadingPageProps) {
  const { t } = useTranslation();
  const hasFailed = Boolean(query.error);
  return (
    <Page
      title={title}
      above={above}
      meta={!hasFailed && <span>{t("state.loading")}…</span>}
      actions={!hasFailed && actionsWidth > 0 && <Skeleton height={30} width={actionsWidth} radius="sm" />}
    >
      {hasFailed ? (
        <Panel>
          <ErrorState error={query.error} retry={() => void query.refetch()} />
        </Panel>
      ) : (
        children
      )}
    </Page>
  );
}
