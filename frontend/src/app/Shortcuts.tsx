import { Dialog } from "../components/Dialog";
import { useTranslation } from "../lib/text/useTranslation";
import classes from "./Shortcuts.module.css";

const SHORTCUTS = [
  [
    "everywhere",
    [
      ["mod K", "palette"],
      ["/", "search"],
      ["?", "sheet"],
      ["Esc", "close"],
    ],
  ],
  [
    "incident",
    [
      ["j k", "steps"],
      ["n", "next"],
      ["e", "pin"],
    ],
  ],
  [
    "timeline",
    [
      ["W / +", "zoomIn"],
      ["S / -", "zoomOut"],
      ["A D / ← →", "pan"],
      ["Shift", "faster"],
      ["0", "all"],
      ["[ ]", "captures"],
      [", .", "cursor"],
      ["b b", "brush"],
      ["B B", "baseline"],
      ["Enter", "enter"],
      ["Esc", "clear"],
    ],
  ],
  [
    "profile",
    [
      ["← ↑ → ↓", "frames"],
      ["Enter", "zoomFrame"],
      ["Shift F10", "frameMenu"],
      ["c", "sandwich"],
      ["i", "code"],
      ["f", "focusFrame"],
      ["h", "hideFrame"],
      ["o", "onlyFrame"],
      ["m", "moduleFrame"],
      ["W S A D", "profileTime"],
      ["Esc", "profileClear"],
    ],
  ],
  [
    "fleet",
    [
      ["← ↑ → ↓", "cells"],
      ["Enter", "openCell"],
      ["Space", "chooseRow"],
      ["Page ↑ ↓", "page"],
      ["Home End", "ends"],
    ],
  ],
  [
    "mouse",
    [
      ["drag", "mouseBrush"],
      ["Shift drag", "mouseBaseline"],
      ["Alt drag", "mousePan"],
      ["Ctrl wheel", "mouseZoom"],
      ["Shift wheel", "mouseScroll"],
      ["double click", "mouseEnter"],
      ["click", "mouseCite"],
    ],
  ],
] as const;

/** Render the list of keyboard shortcuts. */
export function Shortcuts({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const mac = /Mac/.test(navigator.platform);
  return (
    <Dialog onClose={onClose} title={t("nav.shortcuts")} size="52rem">
      <div className={classes.sheet}>
        {SHORTCUTS.map(([part, rows]) => (
          <section key={part}>
            <h3 className={classes.title}>{t(`keys.${part}`)}</h3>
            <dl className={classes.list}>
              {rows.map(([key, act]) => (
                <div key={act} className={classes.row}>
                  <dt>
                    <kbd className={classes.key}>{key.replace("mod", mac ? "⌘" : "Ctrl")}</kbd>
                  </dt>
                  <dd>{t(`keys.${act}`)}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
