//! How is a plan written down?
//!
//! Lanes with their budgets and blocks, then what is not implied by them about each table. Reading
//! refuses anything that would not be a complete plan: the tables are worked out from the lanes
//! again, not believed.

use super::{
    cells::CELL_CHECK_BITS,
    file::Numbers,
    plan::{CHECK_BITS, Key, MOST_DIRECTORY_BITS, Plan, Scope, Table},
};
use crate::{Fingerprint, cover::Lane, hamming::bits::BitSet};

/// More tables than any plan has.
const MOST_TABLES: usize = 4096;

/// The most bits a key is flipped by.
const MOST_FLIPS: u32 = 2;

/// The plan as bytes.
pub(super) fn encode<const WORDS: usize>(plan: &Plan<WORDS>) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_u32(&mut bytes, plan.lanes.len() as u32);
    for lane in &plan.lanes {
        put_u32(&mut bytes, lane.budget);
        put_u32(&mut bytes, lane.blocks.len() as u32);
        lane.blocks.iter().for_each(|block| put_bits(&mut bytes, block));
    }
    put_u32(&mut bytes, plan.tables.len() as u32);
    for table in &plan.tables {
        put_u32(&mut bytes, table.directory_bits);
        put_u32(&mut bytes, u32::from(table.cells) | u32::from(table.scope == Scope::Lane) << 1);
        put_bits(&mut bytes, &table.check.bits);
    }
    bytes
}

fn put_u32(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend(number.to_le_bytes());
}

fn put_bits<const WORDS: usize>(bytes: &mut Vec<u8>, bits: &BitSet<WORDS>) {
    bytes.extend(bits.0.iter().flat_map(|word| word.to_le_bytes()));
}

/// The plan these bytes describe, or what is wrong with them.
pub(super) fn decode<const WORDS: usize>(
    bytes: &[u8],
    max_radius: u32,
) -> Result<Plan<WORDS>, &'static str> {
    let mut numbers = Numbers(bytes);
    let lanes = lanes(&mut numbers)?;
    if !disjoint(lanes.iter().flat_map(|lane| &lane.blocks)) {
        return Err("blocks of the plan overlap");
    }
    let count = numbers.u32().ok_or(CUT_SHORT)? as usize;
    let implied = lanes.iter().map(Lane::table_count).fold(0, usize::saturating_add);
    if count != implied || count > MOST_TABLES {
        return Err("the plan has not as many tables as its lanes need");
    }
    let mut plan = Plan::new(lanes, MOST_DIRECTORY_BITS);
    for table in &mut plan.tables {
        read_table(&mut numbers, table, &plan.lanes[table.lane].bits)?;
    }
    if !plan.lanes.is_empty() && !plan.covers(max_radius) {
        return Err("the plan misses matches within the radius");
    }
    if numbers.0.is_empty() { Ok(plan) } else { Err("the plan is followed by something else") }
}

const CUT_SHORT: &str = "the plan is cut short";

fn lanes<const WORDS: usize>(numbers: &mut Numbers<'_>) -> Result<Vec<Lane<WORDS>>, &'static str> {
    let count = numbers.u32().ok_or(CUT_SHORT)?;
    let mut lanes = Vec::new();
    for _ in 0..count {
        let budget = numbers.u32().ok_or(CUT_SHORT)?;
        let blocks = numbers.u32().ok_or(CUT_SHORT)?;
        let blocks: Option<Vec<BitSet<WORDS>>> = (0..blocks).map(|_| read_bits(numbers)).collect();
        let lane = Lane::new(blocks.ok_or(CUT_SHORT)?, budget);
        let flips = lane.blocks.len() == 1 && budget <= MOST_FLIPS;
        if budget > Fingerprint::<WORDS>::BITS || !(flips || lane.blocks.len() > budget as usize) {
            return Err("a lane of the plan has too few blocks");
        }
        lanes.push(lane);
    }
    Ok(lanes)
}

fn read_bits<const WORDS: usize>(numbers: &mut Numbers<'_>) -> Option<BitSet<WORDS>> {
    let mut bits = BitSet::EMPTY;
    for word in &mut bits.0 {
        *word = numbers.u64()?;
    }
    Some(bits)
}

/// Whether no block is empty or shares a bit with another.
fn disjoint<'a, const WORDS: usize>(blocks: impl Iterator<Item = &'a BitSet<WORDS>>) -> bool {
    let mut seen = BitSet::EMPTY;
    for block in blocks {
        if block.len() == 0 || seen.union(block).len() != seen.len() + block.len() {
            return false;
        }
        seen = seen.union(block);
    }
    true
}

fn read_table<const WORDS: usize>(
    numbers: &mut Numbers<'_>,
    table: &mut Table<WORDS>,
    lane: &BitSet<WORDS>,
) -> Result<(), &'static str> {
    let directory_bits = numbers.u32().ok_or(CUT_SHORT)?;
    let marks = numbers.u32().ok_or(CUT_SHORT)?;
    let check = read_bits(numbers).ok_or(CUT_SHORT)?;
    let most = table.key.len().min(MOST_DIRECTORY_BITS);
    if !(1..=most).contains(&directory_bits) || check.len() > CHECK_BITS {
        return Err("a table of the plan has an impossible size");
    }
    if table.flips > 0 && directory_bits != table.key.len() {
        return Err("a flipped key of the plan does not address its directory");
    }
    (table.cells, table.scope) = match marks {
        0 => (false, Scope::Anywhere),
        1 => (true, Scope::Anywhere),
        2 => (false, Scope::Lane),
        3 => (true, Scope::Lane),
        _ => return Err("a table of the plan is of an unknown kind"),
    };
    if table.cells && !(1..=CELL_CHECK_BITS).contains(&check.len()) {
        return Err("checks of the plan do not fit its cells");
    }
    if table.scope == Scope::Lane && check.without(lane).len() > 0 {
        return Err("a check of the plan is not from its lane");
    }
    table.directory_bits = directory_bits;
    table.check = Key::new(check);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan<2> {
        let run = |from: u32, to: u32| (from..to).collect::<BitSet<2>>();
        let blocks = Lane::new(vec![run(0, 11), run(11, 22), run(22, 32)], 1);
        let flips = Lane::new(vec![run(60, 70)], 2);
        let mut plan = Plan::new(vec![blocks, flips], 12);
        plan.tables[1].check = Key::new(run(90, 122));
        plan.tables[2].check = Key::new(run(0, 9));
        (plan.tables[2].scope, plan.tables[2].cells) = (Scope::Lane, true);
        plan
    }

    #[test]
    fn a_plan_reads_back_as_it_was() {
        assert_eq!(decode(&encode(&plan()), 4), Ok(plan()));
        assert_eq!(decode::<1>(&encode(&Plan::<1>::scan()), 40), Ok(Plan::scan()));
    }

    #[test]
    fn a_plan_too_weak_for_its_radius_is_refused() {
        assert_eq!(
            decode::<2>(&encode(&plan()), 5),
            Err("the plan misses matches within the radius")
        );
    }

    #[test]
    fn no_change_of_a_byte_makes_a_plan_that_panics() {
        let bytes = encode(&plan());
        for at in 0..bytes.len() {
            for value in [0, 1, 2, 0x7f, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                let _ = decode::<2>(&changed, 4);
            }
            assert!(decode::<2>(&bytes[..at], 4).is_err());
        }
    }
}
