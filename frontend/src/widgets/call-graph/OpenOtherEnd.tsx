import { ArrowRight, Plus } from "lucide-react";
import { Link } from "../../components/Link";
import { formatTrail, type Hop, splitUrl } from "../../core/charts/callpath";
import { usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Call } from "./api";
import classes from "./Calls.module.css";

/** Link to the other end of a call in the same time range, or to add or open its host. */
export function OpenOtherEnd({ call, trail }: { call: Call; trail: readonly Hop[] }) {
  const { t } = useTranslation();
  const can = usePermission();
  const { endpoint } = call;
  if (!endpoint.url || (endpoint.kind === "not_added" && !can("host.add"))) return null;
  const { path, search } = splitUrl(endpoint.url);
  const adds = endpoint.kind === "not_added";
  const follows = path.endsWith("/calls");
  const label = adds ? t("calls.addHost") : follows ? t("calls.openOtherEnd") : t("calls.toHost");
  const to = endpoint.host?.name ?? (endpoint.comm || call.remote);
  return (
    <Link
      to={path}
      search={{ ...search, ...(follows ? { via: formatTrail(trail) } : {}) }}
      className={classes.openLink ?? ""}
      aria-label={t("calls.openLabel", { what: label, to: endpoint.comm ? `${endpoint.comm}, ${to}` : to })}
    >
      {adds ? <Plus size={13} aria-hidden /> : null}
      <span>{label}</span>
      {adds ? null : <ArrowRight size={13} aria-hidden />}
    </Link>
  );
}
