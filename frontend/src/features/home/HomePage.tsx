import { QueryContent } from "../../components/EmptyState";
import { Page, Panel } from "../../components/Page";
import { useCaptures } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { CapturesTable } from "../../widgets/capture-progress/CapturesTable";
import { GetStarted } from "../../widgets/get-started/GetStarted";
import classes from "./HomePage.module.css";

/** The start page: three entry points while nothing was captured, then the latest captures. */
export function HomePage() {
  const { t } = useTranslation();
  const captures = useCaptures({}, 20);
  return (
    <QueryContent
      query={captures}
      skeleton={
        <Page title={t("start.title")}>
          <GetStarted first={false} />
        </Page>
      }
    >
      {({ items }) => (
        <Page title={items.length === 0 ? t("start.welcome") : t("start.title")}>
          {items.length === 0 && <p className={classes.introduction}>{t("start.lead")}</p>}
          <GetStarted first={items.length === 0} />
          {items.length > 0 && (
            <Panel flush title={t("start.recent")}>
              <CapturesTable captures={items} />
            </Panel>
          )}
        </Page>
      )}
    </QueryContent>
  );
}
