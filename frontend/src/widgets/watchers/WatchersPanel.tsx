import { Button, Checkbox } from "@mantine/core";
import { Hourglass } from "lucide-react";
import { useState } from "react";
import { EmptyState, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { useOpenDialog } from "../../lib/dialogs";
import { usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { useWatchers } from "./api";
import { WatchersTable } from "./WatchersTable";
import classes from "./watchers.module.css";

/** Render the watchers of a host, or of all hosts. */
export function WatchersPanel({ host }: { host?: string }) {
  const { t } = useTranslation();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const [over, setOver] = useState(false);
  const rows = useWatchers({ ...(host ? { host_id: host } : {}), ...(over ? { include_ended: over } : {}) });
  const arm = can("watcher.conditional") && (
    <Button
      size="compact-sm"
      variant="default"
      leftSection={<Hourglass size={13} />}
      onClick={() => openDialog("arm", host ? [host] : [])}
    >
      {t("watchers.new")}
    </Button>
  );
  return (
    <Panel flush {...(host ? { title: t("watchers.title") } : {})}>
      <div className={classes.parts}>
        <Checkbox
          size="xs"
          label={t("watchers.showEnded")}
          checked={over}
          onChange={(event) => setOver(event.currentTarget.checked)}
        />
        <span className={classes.pushRight}>{arm}</span>
      </div>
      <QueryContent query={rows} skeleton={<RowSkeleton rows={2} height={29} />}>
        {(watchers) =>
          watchers.length > 0 ? (
            <WatchersTable rows={watchers} onHost={host !== undefined} />
          ) : (
            <EmptyState title={t("watchers.empty")}>{t("watchers.emptyText")}</EmptyState>
          )
        }
      </QueryContent>
    </Panel>
  );
}
