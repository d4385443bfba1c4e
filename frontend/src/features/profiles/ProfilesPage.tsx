import { useSearch } from "@tanstack/react-router";
import { EmptyState, QueryContent } from "../../components/EmptyState";
import { ButtonLink, Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { RunStateIcon } from "../../components/StatusIcon";
import { DataTable, rowLinkClass } from "../../components/tables/DataTable";
import type { Search } from "../../core/search";
import { formatCount, formatDuration, formatPercent } from "../../core/text/format";
import { useProfiles } from "../../lib/queries";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";

/** All profiles that the user may see, newest first. */
export function ProfilesPage() {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const search = useSearch({ strict: false }) as Search;
  const query = useProfiles({ host: search.host, run: search.run });
  return (
    <Page
      title={t("nav.profiles")}
      actions={
        <ButtonLink variant="default" to="/compare">
          {t("profile.compareTwo")}
        </ButtonLink>
      }
    >
      <Panel flush>
        <QueryContent query={query}>
          {(profiles) =>
            profiles.length === 0 ? (
              <EmptyState title={t("profile.none")}>{t("profile.noneText")}</EmptyState>
            ) : (
              <DataTable stack label={t("nav.profiles")}>
                <thead>
                  <tr>
                    <th>{t("profile.host")}</th>
                    <th>{t("profile.kindTitle")}</th>
                    <th>{t("profile.when")}</th>
                    <th className="right">{t("profile.span")}</th>
                    <th className="right">{t("profile.samples")}</th>
                    <th className="right">{t("profile.lost")}</th>
                    <th className="right">{t("profile.unknown")}</th>
                    <th>{t("profile.state")}</th>
                  </tr>
                </thead>
                <tbody>
                  {profiles.map((p) => (
                    <tr key={p.id} className={rowLinkClass()}>
                      <td>
                        <Link to="/profiles/$profileId" params={{ profileId: p.id }}>
                          {p.host?.name ?? p.label ?? t("profile.imported")}
                        </Link>
                      </td>
                      <td>
                        {t(`profile.kind.${p.kind}` as "profile.kind.on_cpu", { defaultValue: p.kind })}
                      </td>
                      <td className="num">{time.instant(p.t0_ns)}</td>
                      <td className="right num">
                        {p.t0_ns !== null && p.t1_ns !== null ? formatDuration(p.t1_ns - p.t0_ns) : "–"}
                      </td>
                      <td className="right num">{p.samples === null ? "–" : formatCount(p.samples)}</td>
                      <td className="right num">{p.lost === null ? "–" : formatCount(p.lost)}</td>
                      <td className="right num">{formatPercent(p.unknown_share)}</td>
                      <td>
                        <RunStateIcon state={p.state} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </DataTable>
            )
          }
        </QueryContent>
      </Panel>
    </Page>
  );
}
