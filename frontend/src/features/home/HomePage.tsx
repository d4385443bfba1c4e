import { useTranslation } from "react-i18next";
import { CapturesTable } from "../../components/CapturesTable";
import { Page, Panel } from "../../components/Page";
import { Loaded } from "../../components/States";
import { useCaptures } from "../../lib/queries";
import { Doors } from "../../renderers/doors/Doors";
import classes from "./StartPage.module.css";

/** Where one begins: three doors while nothing was captured, then what was captured last. */
export function StartPage() {
  const { t } = useTranslation();
  const captures = useCaptures({}, 20);
  return (
    <Loaded
      query={captures}
      skeleton={
        <Page title={t("start.title")}>
          <Doors first={false} />
        </Page>
      }
    >
      {({ items }) => (
        <Page title={items.length === 0 ? t("start.welcome") : t("start.title")}>
          {items.length === 0 && <p className={classes.lead}>{t("start.lead")}</p>}
          <Doors first={items.length === 0} />
          {items.length > 0 && (
            <Panel flush title={t("start.recent")}>
              <CapturesTable captures={items} />
            </Panel>
          )}
        </Page>
      )}
    </Loaded>
  );
}
