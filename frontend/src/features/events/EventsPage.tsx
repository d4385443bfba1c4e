import { Button, Switch } from "@mantine/core";
import { Flag } from "lucide-react";
import { useTranslation } from "react-i18next";
import { CommandLine } from "../../components/Copy";
import { Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { Empty, Loaded, RowSkeleton } from "../../components/States";
import { useEvents } from "../../lib/events";
import { useMay } from "../../lib/queries";
import { choiceField, flagField, textField, useUrlState } from "../../lib/urlState";
import { EventDialog } from "./EventDialog";
import { EventsTable } from "./EventsTable";
import classes from "./events.module.css";

const FIELDS = { one: textField, act: choiceField(["", "add", "edit"], ""), withdrawn: flagField };
const COMMAND =
  'culprit annotate "feed 4f2a" --kind deploy --service feed --id "$CI_JOB_ID" --link "$CI_JOB_URL"';

/** All that people and pipelines told of hosts: deploys, changes of configuration, notes. */
export function EventsPage() {
  const { t } = useTranslation();
  const may = useMay();
  const [view, setView] = useUrlState(FIELDS);
  const events = useEvents(view.withdrawn);
  const chosen = events.data?.find((one) => one.id === view.one);
  const close = () => setView({ act: "", one: "" });
  const tell = may("event.tell") && (
    <Button leftSection={<Flag size={14} />} onClick={() => setView({ act: "add" })}>
      {t("events.tell")}
    </Button>
  );
  return (
    <Page
      title={t("events.title")}
      meta={t("events.text")}
      actions={events.data && events.data.length > 0 && tell}
    >
      <Panel
        flush
        title={t("events.list")}
        aside={
          <Switch
            size="xs"
            label={t("events.withWithdrawn")}
            checked={view.withdrawn}
            onChange={(event) => setView({ withdrawn: event.currentTarget.checked })}
          />
        }
      >
        <Loaded query={events} skeleton={<RowSkeleton rows={6} height={32} />}>
          {(rows) =>
            rows.length > 0 ? (
              <EventsTable events={rows} onCorrect={(one) => setView({ act: "edit", one })} />
            ) : (
              <Empty title={t("events.empty")} action={tell}>
                {t("events.emptyText")}
              </Empty>
            )
          }
        </Loaded>
      </Panel>
      {may("event.tell") && (
        <Panel title={t("events.pipeline")}>
          <div className={classes.pipeline}>
            <p>
              {t("events.pipelineText")}{" "}
              <Link to="/settings/$part" params={{ part: "tokens" }} underline="always">
                {t("settings.tokens.title")}
              </Link>
            </p>
            <CommandLine text={COMMAND} prompt />
          </div>
        </Panel>
      )}
      {view.act === "add" && <EventDialog onClose={close} />}
      {view.act === "edit" && chosen && <EventDialog key={chosen.id} event={chosen} onClose={close} />}
    </Page>
  );
}
