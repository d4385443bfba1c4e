import { type DiffHead, formatBothSides, formatWeight } from "../../core/profiles/difference";
import type { FlameNode } from "../../core/profiles/flame";
import { useTranslation } from "../../lib/text/useTranslation";

/** Return functions for texts of a frame in a comparison: its values on both sides, and the reason for its color. */
export function useChangeText() {
  const { t } = useTranslation();
  const reason = ({ verdict, noise }: Pick<FlameNode, "verdict" | "noise">, head: DiffHead): string => {
    if (verdict === "few") return t("compare.reason.few");
    if (verdict == null) return "";
    return t(`compare.reason.${verdict}`, { noise: formatWeight(noise ?? 0, head) });
  };
  return {
    reason,
    title: (node: FlameNode, head: DiffHead): string =>
      [node.name, formatBothSides(node, head), reason(node, head)].filter(Boolean).join("\n"),
  };
}
