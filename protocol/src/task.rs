//! What outlives its call: a background command.

use serde::{Deserialize, Serialize};

use crate::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Task {
    pub id: TaskId,
    pub item: ItemId,
    pub command: String,
    pub end: Option<RunEnd>,
    pub spill: Option<FilePath>,
}
