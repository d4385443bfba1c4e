import { Button, SegmentedControl } from "@mantine/core";
import { Plus } from "lucide-react";
import { EmptyState, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { Page, Panel } from "../../components/Page";
import { usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, flagField, useUrlState } from "../../lib/urlState";
import { AnnotationsPanel } from "./AnnotationsPanel";
import { useChannels } from "./api";
import { ChannelDialog } from "./ChannelDialog";
import { ChannelsTable } from "./ChannelsTable";
import { NotificationsPanel } from "./NotificationsPanel";
import classes from "./notifications.module.css";

const TABS = ["channels", "notifications"] as const;
type Tab = (typeof TABS)[number];
const FIELDS = { part: choiceField<Tab>(TABS, "channels"), add: flagField };

/** Notification channels, and all notifications with their delivery status. */
export function NotificationsPage() {
  const { t } = useTranslation();
  const can = usePermission();
  const [view, setView] = useUrlState(FIELDS);
  if (!can("channel.read"))
    return (
      <Page title={t("notifications.title")}>
        <EmptyState title={t("error.forbidden")} />
      </Page>
    );
  return (
    <Page
      title={t("notifications.title")}
      actions={
        can("channel.manage") &&
        view.part === "channels" && (
          <Button leftSection={<Plus size={14} />} onClick={() => setView({ add: true })}>
            {t("channels.add")}
          </Button>
        )
      }
    >
      <div className={classes.tabs}>
        <SegmentedControl
          value={view.part}
          onChange={(part) => setView({ part: part as Tab, add: false })}
          data={[
            { value: "channels", label: t("channels.title") },
            { value: "notifications", label: t("notifications.list") },
          ]}
          aria-label={t("triggers.parts")}
        />
      </div>
      {view.part === "channels" ? (
        <ChannelsPanel adding={view.add} onClose={() => setView({ add: false })} />
      ) : (
        <>
          <NotificationsPanel />
          <AnnotationsPanel />
        </>
      )}
    </Page>
  );
}

function ChannelsPanel({ adding, onClose }: { adding: boolean; onClose: () => void }) {
  const { t } = useTranslation();
  const can = usePermission();
  const channels = useChannels();
  return (
    <Panel flush>
      <QueryContent query={channels} skeleton={<RowSkeleton rows={4} height={29} />}>
        {(rows) =>
          rows.length > 0 ? (
            <ChannelsTable channels={rows} />
          ) : (
            <EmptyState title={t("channels.empty")}>{t("channels.emptyText")}</EmptyState>
          )
        }
      </QueryContent>
      {adding && can("channel.manage") && <ChannelDialog onClose={onClose} />}
    </Panel>
  );
}
