use datamill_numeric::subsets::*;
use std::time::Instant;
fn main(){
  let a:Vec<String>=std::env::args().collect();
  let n:usize=a[1].parse().unwrap(); let mode=&a[2]; let k:usize=a[3].parse().unwrap(); let reps:usize=a[4].parse().unwrap();
  let q=27; let mut s=12345u64;
  let mut r=||{ let mut t=0.0; for _ in 0..12 { s^=s<<13; s^=s>>7; s^=s<<17; t+=(s>>11) as f64/(1u64<<53) as f64;} t-6.0};
  let mut v=vec![0.0;15*q];
  for i in 0..15 { let c=r()*0.7; for j in 0..q { v[i*q+j]=(c+0.2*r()).exp()*100.0; } }
  let t=Table::new(&v,q).unwrap();
  let sets:Vec<Vec<usize>>=(0..reps).map(|x| (0..n).map(|i|(i+x)%15).collect()).collect();
  if mode=="each" {
    let vars=vec![f64::NAN;q*reps];
    let t0=Instant::now(); let f=best_of_each(t,&sets,k,&vars); println!("{:.3} ms per set {:?}",t0.elapsed().as_secs_f64()*1e3/reps as f64,f[0][0].unwrap()[0]);
  } else {
    let y:Vec<f64>=(0..15).map(|i|v[i*q]+v[i*q+3]*0.3+10.0*r()).collect();
    let mut best=1e9f64; 
    for _ in 0..reps { let t0=Instant::now(); let f=best_of_sizes(t,&y,&sets[..1],k); best=best.min(t0.elapsed().as_secs_f64()); std::hint::black_box(f);}
    println!("{:.4} ms {:?}",best*1e3,best_of_sizes(t,&y,&sets[..1],k)[0].1.last());
  }
}
