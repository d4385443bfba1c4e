import { Button } from "@mantine/core";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { ButtonLink } from "../components/Link";
import { Page, Panel } from "../components/Page";
import { Empty } from "../components/States";

export function Missing() {
  const { t } = useTranslation();
  return (
    <Page title={t("notFound.title")}>
      <Panel>
        <Empty
          title={t("notFound.text")}
          action={<ButtonLink to="/hosts">{t("notFound.home")}</ButtonLink>}
        />
      </Panel>
    </Page>
  );
}

/** A fault in one screen: the shell around it keeps working. */
export function Crash({ error }: ErrorComponentProps) {
  const { t } = useTranslation();
  return (
    <Page title={t("error.crash")} width="text">
      <p>{t("error.crashText")}</p>
      <pre className="mono">{error instanceof Error ? `${error.name}: ${error.message}` : String(error)}</pre>
      <Button onClick={() => location.reload()}>{t("action.reload")}</Button>
    </Page>
  );
}
