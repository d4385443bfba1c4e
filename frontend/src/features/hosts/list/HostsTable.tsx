import type { ReactNode } from "react";
import type { Host } from "../../../client/models";
import { Link } from "../../../components/Link";
import { RunStateIcon, Tag } from "../../../components/StatusIcon";
import { DataTable, rowLinkClass } from "../../../components/tables/DataTable";
import { RelativeTime } from "../../../components/text/RelativeTime";
import { formatBytes } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "./HostsPage.module.css";

/** The table scrolls below the filters, so that the names of its columns stay in view. */
const LIST_HEIGHT = "max(320px, calc(100dvh - 208px))";

interface MarkProps {
  checked: boolean;
  indeterminate?: boolean;
  onChange: () => void;
  "aria-label": string;
}

interface Props {
  hosts: readonly Host[];
  chosen: ReadonlySet<string>;
  onChoose: (chosen: ReadonlySet<string>) => void;
  mark: (props: MarkProps) => ReactNode;
  onLabel: (label: string) => void;
}

export function HostsTable({ hosts, chosen, onChoose, mark, onLabel }: Props) {
  const { t } = useTranslation();
  const reachable = hosts.filter((host) => host.state === "active");
  const all = reachable.length > 0 && reachable.every((host) => chosen.has(host.id));
  const some = reachable.some((host) => chosen.has(host.id));
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    onChoose(next);
  };
  return (
    <DataTable stack label={t("hosts.title")} maxHeight={LIST_HEIGHT}>
      <thead>
        <tr>
          <th className={classes.check}>
            {mark({
              checked: all,
              indeterminate: some && !all,
              onChange: () => onChoose(all ? new Set() : new Set(reachable.map((host) => host.id))),
              "aria-label": t("hosts.chooseAll"),
            })}
          </th>
          <th>{t("hosts.name")}</th>
          <th>{t("hosts.address")}</th>
          <th>{t("hosts.labels")}</th>
          <th className="right">{t("hosts.cpus")}</th>
          <th className="right">{t("hosts.memory")}</th>
          <th>{t("hosts.system")}</th>
          <th>{t("hosts.lastRun")}</th>
          <th className="right">{t("hosts.captures")}</th>
        </tr>
      </thead>
      <tbody>
        {hosts.map((host) => (
          <tr key={host.id} className={rowLinkClass(chosen.has(host.id))}>
            <td className={classes.check}>
              {host.state === "active" &&
                mark({
                  checked: chosen.has(host.id),
                  onChange: () => toggle(host.id),
                  "aria-label": t("hosts.choose", { name: host.name }),
                })}
            </td>
            <td>
              <Link to="/hosts/$hostId" params={{ hostId: host.id }}>
                {host.name}
              </Link>
              {host.state !== "active" && (
                <>
                  {" "}
                  <Tag>{t(`hosts.state.${host.state}` as "hosts.state.retired")}</Tag>
                </>
              )}
            </td>
            <td className="num">
              {host.address
                ? `${host.username}@${host.address}${host.port === 22 ? "" : `:${host.port}`}`
                : "–"}
            </td>
            <td>
              <span className={classes.labels}>
                {Object.entries(host.labels).map(([name, value]) => (
                  <button
                    type="button"
                    key={name}
                    onClick={() => onLabel(`${name}:${value}`)}
                    aria-label={t("hosts.filterBy", { label: `${name}=${value}` })}
                  >
                    <Tag>
                      {name}={value}
                    </Tag>
                  </button>
                ))}
              </span>
            </td>
            <td className="num right">{host.facts?.cpus ?? "–"}</td>
            <td className="num right">{formatBytes(host.facts?.mem_bytes)}</td>
            <td>
              {host.facts ? (
                <>
                  {host.facts.distro} <span className="num dim">{host.facts.kernel}</span>
                </>
              ) : (
                <span className="dim">{t("hosts.notChecked")}</span>
              )}
            </td>
            <td>
              {host.last_run ? (
                <>
                  <RunStateIcon state={host.last_run.state} />{" "}
                  <span className="dim">
                    <RelativeTime at={host.last_run.at} />
                  </span>
                </>
              ) : (
                <span className="dim">{t("hosts.never")}</span>
              )}
            </td>
            <td className="num right">{host.captures}</td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
