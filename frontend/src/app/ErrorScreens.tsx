import { Button } from "@mantine/core";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { EmptyState } from "../components/EmptyState";
import { ButtonLink } from "../components/Link";
import { Page, Panel } from "../components/Page";
import { useTranslation } from "../lib/text/useTranslation";

export function NotFoundPage() {
  const { t } = useTranslation();
  return (
    <Page title={t("notFound.title")}>
      <Panel>
        <EmptyState
          title={t("notFound.text")}
          action={<ButtonLink to="/hosts">{t("notFound.home")}</ButtonLink>}
        />
      </Panel>
    </Page>
  );
}

/** Render an unexpected error of a page. The shell around it keeps working. */
export function PageError({ error }: ErrorComponentProps) {
  const { t } = useTranslation();
  return (
    <Page title={t("error.crash")} width="text">
      <p>{t("error.crashText")}</p>
      <pre className="mono wrapped">
        {error instanceof Error ? `${error.name}: ${error.message}` : String(error)}
      </pre>
      <Button onClick={() => location.reload()}>{t("action.reload")}</Button>
    </Page>
  );
}
