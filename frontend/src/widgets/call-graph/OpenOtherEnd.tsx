import { ArrowRight, Plus } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Call } from "../../client/types";
import { Link } from "../../components/Link";
import { formatTrail, type Hop, partsOf } from "../../core/callpath";
import { useMay } from "../../lib/queries";
import classes from "./Calls.module.css";

/** One click to the other end of a call, on the same range of time; else the way to make that possible. */
export function GoOn({ call, trail }: { call: Call; trail: readonly Hop[] }) {
  const { t } = useTranslation();
  const may = useMay();
  const { place } = call;
  if (!place.url || (place.kind === "not_enrolled" && !may("host.enrol"))) return null;
  const { path, search } = partsOf(place.url);
  const adds = place.kind === "not_enrolled";
  const follows = path.endsWith("/calls");
  const label = adds ? t("calls.enrol") : follows ? t("calls.goOn") : t("calls.toHost");
  const to = place.host?.name ?? (place.comm || call.remote);
  return (
    <Link
      to={path as never}
      search={{ ...search, ...(follows ? { via: formatTrail(trail) } : {}) } as never}
      className={classes.go ?? ""}
      aria-label={t("calls.goLabel", { what: label, to: place.comm ? `${place.comm}, ${to}` : to })}
    >
      {adds ? <Plus size={13} aria-hidden /> : null}
      <span>{label}</span>
      {adds ? null : <ArrowRight size={13} aria-hidden />}
    </Link>
  );
}
