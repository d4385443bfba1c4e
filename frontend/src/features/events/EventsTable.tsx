import { Anchor, Button } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { EventWhere, ToldEvent } from "../../client/events";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Tag } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { isoToNs } from "../../core/clock";
import { cx } from "../../core/cx";
import { duration } from "../../core/format";
import { eventKeys } from "../../lib/events";
import { keys, remove, useAction } from "../../lib/queries";
import { useTimeFormat } from "../../lib/useFormat";
import classes from "./events.module.css";

interface Props {
  events: readonly ToldEvent[];
  onCorrect: (id: string) => void;
}

/** What was told: when, what, where, by whom; whoever may corrects it or takes it back. */
export function EventsTable({ events, onCorrect }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const withdraw = useAction((id: string) => remove(`/events/${id}`), [eventKeys.events, keys.hosts]);
  return (
    <>
      <ErrorLine error={withdraw.error} />
      <Grid stack label={t("events.title")}>
        <thead>
          <tr>
            <th>{t("events.at")}</th>
            <th>{t("events.kind")}</th>
            <th>{t("events.what")}</th>
            <th>{t("events.where")}</th>
            <th>{t("events.who")}</th>
            <th>
              <span className="visually-hidden">{t("events.correct")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {events.map((one) => (
            <tr key={one.id} className={cx(one.withdrawn_at && classes.withdrawn)}>
              <td className="num">
                {time.iso(one.at)}
                {one.until && (
                  <span className="dim">
                    {" "}
                    + {duration((isoToNs(one.until) ?? 0) - (isoToNs(one.at) ?? 0))}
                  </span>
                )}
              </td>
              <td>
                <Tag>{one.kind}</Tag>
              </td>
              <td>
                <span className={classes.what}>{one.what}</span>{" "}
                {one.link && (
                  <Anchor
                    href={one.link}
                    target="_blank"
                    rel="noreferrer noopener nofollow"
                    underline="always"
                    size="xs"
                  >
                    {t("events.more")}
                  </Anchor>
                )}
                {one.detail && <p className={classes.detail}>{one.detail}</p>}
              </td>
              <td>
                <Where where={one.where} />
              </td>
              <td>
                {one.who || one.told_by.name}
                {one.who && <span className="dim"> {t("events.toldBy", { name: one.told_by.name })}</span>}
                {one.withdrawn_at && <div className="dim">{t("events.withdrawn")}</div>}
              </td>
              <td className="right">
                {one.may_change && (
                  <span className={classes.acts}>
                    <Button
                      size="compact-xs"
                      variant="default"
                      onClick={() => onCorrect(one.id)}
                      aria-label={t("events.correctOne", { what: one.what })}
                    >
                      {t("events.correct")}
                    </Button>
                    <Button
                      size="compact-xs"
                      variant="default"
                      loading={withdraw.isPending && withdraw.variables === one.id}
                      onClick={() => withdraw.mutate(one.id)}
                      aria-label={t("events.withdrawOne", { what: one.what })}
                    >
                      {t("events.withdraw")}
                    </Button>
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </Grid>
    </>
  );
}

const SHOWN = 3;

function Where({ where }: { where: EventWhere }) {
  const { t } = useTranslation();
  if (where.kind === "everywhere") return <>{t("events.places.everywhere")}</>;
  const more = where.hosts_total - Math.min(SHOWN, where.hosts.length);
  return (
    <>
      {where.service && <Tag>{where.service}</Tag>}
      {where.kind === "labels" &&
        Object.entries(where.labels ?? {}).map(([name, value]) => (
          <Tag key={name}>
            {name}={value}
          </Tag>
        ))}{" "}
      {where.hosts.slice(0, SHOWN).map((one, at) => (
        <span key={one.id}>
          {at > 0 && ", "}
          <Link to="/hosts/$hostId" params={{ hostId: one.id }}>
            {one.name}
          </Link>
        </span>
      ))}
      {more > 0 && <span className="dim"> {t("events.moreHosts", { count: more })}</span>}
    </>
  );
}
