import type { QueryClient } from "@tanstack/react-query";
import type { LucideIcon } from "lucide-react";
import type { ComponentType } from "react";
import type { Search } from "../core/search";
import type { DialogName } from "./dialogs";
import type { PlainTextKey } from "./text/useTranslation";

/** A page of a feature, loaded when it is first opened. */
export interface PageRoute {
  load: () => Promise<ComponentType>;
  /** Prefetch the data of the first render, under the query keys of the page. */
  prepare?: (queries: QueryClient, params: Readonly<Record<string, string>>, search: Search) => void;
}

/** Navigation items of a group are in one menu. */
export type NavigationGroupName = "oncall" | "library";

/** Item of the main navigation and of the command palette. `permission` hides it from users without it. */
export interface NavigationItem {
  to: string;
  key: PlainTextKey;
  icon: LucideIcon;
  group?: NavigationGroupName;
  permission?: string;
}

/** Command of the palette: opens a dialog, or a page that is not a navigation item. */
export interface PaletteCommand {
  id: string;
  key: PlainTextKey;
  icon: LucideIcon;
  permission?: string;
  dialog?: DialogName;
  to?: string;
  search?: Record<string, string>;
}

export interface DialogProps {
  onClose: () => void;
}

/** Pages, navigation items, commands and dialogs of a feature. */
export interface FeatureManifest {
  /** Pages by path. */
  routes: Readonly<Record<string, PageRoute>>;
  navigation?: readonly NavigationItem[];
  commands?: readonly PaletteCommand[];
  /** Dialogs by their name in the URL (`?dialog=`). */
  dialogs?: Readonly<Partial<Record<DialogName, () => Promise<ComponentType<DialogProps>>>>>;
}

/** Type-check a manifest and return it with the literal types of its paths, from which the router types its links. */
export const defineFeature = <const M extends FeatureManifest>(manifest: M): M => manifest;
