import { Anchor, Button } from "@mantine/core";
import type { ReportedEvent } from "../../client/models";
import { ErrorLine } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { Tag } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { cx } from "../../core/cx";
import { formatDuration } from "../../core/text/format";
import { isoToNs } from "../../core/time/clock";
import { eventKeys } from "../../lib/captures/events";
import { queryKeys, remove, useAction } from "../../lib/queries";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import type { ReportedEventTarget } from "./api";
import classes from "./events.module.css";

interface Props {
  events: readonly ReportedEvent[];
  onEdit: (id: string) => void;
}

/** Reported events, with buttons to edit and withdraw them. */
export function EventsTable({ events, onEdit }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const withdraw = useAction(
    (id: string) => remove(`/reported-events/${id}`),
    [eventKeys.events, queryKeys.hosts],
  );
  return (
    <>
      <ErrorLine error={withdraw.error} />
      <DataTable stack label={t("events.title")}>
        <thead>
          <tr>
            <th>{t("events.at")}</th>
            <th>{t("events.kind")}</th>
            <th>{t("events.what")}</th>
            <th>{t("events.where")}</th>
            <th>{t("events.who")}</th>
            <th>
              <span className="visually-hidden">{t("events.edit")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <tr key={event.id} className={cx(event.withdrawn_at && classes.withdrawn)}>
              <td className="num">
                {time.iso(event.at)}
                {event.until && (
                  <span className="dim">
                    {" "}
                    + {formatDuration((isoToNs(event.until) ?? 0) - (isoToNs(event.at) ?? 0))}
                  </span>
                )}
              </td>
              <td>
                <Tag>{event.kind}</Tag>
              </td>
              <td>
                <span className={classes.title}>{event.what}</span>{" "}
                {event.link && (
                  <Anchor href={event.link} target="_blank" rel="noreferrer noopener nofollow" size="xs">
                    {t("events.more")}
                  </Anchor>
                )}
                {event.detail && <p className={classes.detail}>{event.detail}</p>}
              </td>
              <td>
                <EventTargets target={event.target} />
              </td>
              <td>
                {event.who || event.reported_by.name}
                {event.who && (
                  <span className="dim"> {t("events.reportedBy", { name: event.reported_by.name })}</span>
                )}
                {event.withdrawn_at && <div className="dim">{t("events.withdrawn")}</div>}
              </td>
              <td className="right">
                {event.can_update && (
                  <span className={classes.actions}>
                    <Button
                      size="compact-xs"
                      variant="default"
                      onClick={() => onEdit(event.id)}
                      aria-label={t("events.editEvent", { what: event.what })}
                    >
                      {t("events.edit")}
                    </Button>
                    <Button
                      size="compact-xs"
                      variant="default"
                      loading={withdraw.isPending && withdraw.variables === event.id}
                      onClick={() => withdraw.mutate(event.id)}
                      aria-label={t("events.withdrawEvent", { what: event.what })}
                    >
                      {t("events.withdraw")}
                    </Button>
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </DataTable>
    </>
  );
}

const MAX_HOSTS = 3;

function EventTargets({ target }: { target: ReportedEventTarget }) {
  const { t } = useTranslation();
  if (target.kind === "everywhere") return <>{t("events.targets.everywhere")}</>;
  const more = target.host_count - Math.min(MAX_HOSTS, target.hosts.length);
  return (
    <>
      {target.service && <Tag>{target.service}</Tag>}
      {target.kind === "labels" &&
        Object.entries(target.labels ?? {}).map(([name, value]) => (
          <Tag key={name}>
            {name}={value}
          </Tag>
        ))}{" "}
      {target.hosts.slice(0, MAX_HOSTS).map((host, at) => (
        <span key={host.id}>
          {at > 0 && ", "}
          <Link to="/hosts/$hostId" params={{ hostId: host.id }}>
            {host.name}
          </Link>
        </span>
      ))}
      {more > 0 && <span className="dim"> {t("events.moreHosts", { count: more })}</span>}
    </>
  );
}
