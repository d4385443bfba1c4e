import { Button, Switch } from "@mantine/core";
import { Flag } from "lucide-react";
import { EmptyState, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { CommandLine } from "../../components/fields/CopyButton";
import { Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { useEvents } from "../../lib/captures/events";
import { usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, flagField, textField, useUrlState } from "../../lib/urlState";
import { EventDialog } from "./EventDialog";
import { EventsTable } from "./EventsTable";
import classes from "./events.module.css";

const FIELDS = { event: textField, dialog: choiceField(["", "add", "edit"], ""), withdrawn: flagField };
const COMMAND =
  'culprit event report "feed 4f2a" --kind deploy --service feed --id "$CI_JOB_ID" --link "$CI_JOB_URL"';

/** All reported events: deploys, configuration changes and notes. */
export function EventsPage() {
  const { t } = useTranslation();
  const can = usePermission();
  const [view, setView] = useUrlState(FIELDS);
  const events = useEvents(view.withdrawn);
  const chosen = events.data?.find((event) => event.id === view.event);
  const close = () => setView({ dialog: "", event: "" });
  const reportButton = can("event.report") && (
    <Button leftSection={<Flag size={14} />} onClick={() => setView({ dialog: "add" })}>
      {t("events.report")}
    </Button>
  );
  return (
    <Page
      title={t("events.title")}
      meta={t("events.text")}
      actions={events.data && events.data.length > 0 && reportButton}
    >
      <Panel
        flush
        title={t("events.list")}
        headerExtra={
          <Switch
            size="xs"
            label={t("events.showWithdrawn")}
            checked={view.withdrawn}
            onChange={(event) => setView({ withdrawn: event.currentTarget.checked })}
          />
        }
      >
        <QueryContent query={events} skeleton={<RowSkeleton rows={6} height={32} />}>
          {(rows) =>
            rows.length > 0 ? (
              <EventsTable events={rows} onEdit={(item) => setView({ dialog: "edit", event: item })} />
            ) : (
              <EmptyState title={t("events.empty")} action={reportButton}>
                {t("events.emptyText")}
              </EmptyState>
            )
          }
        </QueryContent>
      </Panel>
      {can("event.report") && (
        <Panel title={t("events.pipeline")}>
          <div className={classes.pipeline}>
            <p>
              {t("events.pipelineText")}{" "}
              <Link to="/settings/$part" params={{ part: "tokens" }}>
                {t("settings.tokens.title")}
              </Link>
            </p>
            <CommandLine text={COMMAND} prompt />
          </div>
        </Panel>
      )}
      {view.dialog === "add" && <EventDialog onClose={close} />}
      {view.dialog === "edit" && chosen && <EventDialog key={chosen.id} event={chosen} onClose={close} />}
    </Page>
  );
}
